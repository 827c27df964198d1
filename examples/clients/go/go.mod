module golden

go 1.19
