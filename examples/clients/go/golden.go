// Plans, trains, reads, saves, reloads and generates from Go.   golden CONFIG FOLDER
// The 20 losses go to stdout, everything else to stderr.
package main

import (
	"errors"
	"fmt"
	"os"
)

const (
	batchSize = 16
	context   = 16
	steps     = 20
	sentence  = "the quick brown fox jumps over the lazy dog, from one device to the next. "
)

// draw gives windows of the sentence, and the ids that follow them.
func draw(state *uint64) Batch {
	var inputs, targets []int64
	for b := 0; b < batchSize; b++ {
		*state = *state*6364136223846793005 + 1442695040888963407
		begin := int((*state >> 33) % uint64(len(sentence)))
		for i := 0; i < context; i++ {
			inputs = append(inputs, int64(sentence[(begin+i)%len(sentence)]))
			targets = append(targets, int64(sentence[(begin+i+1)%len(sentence)]))
		}
	}
	return Batch{tensorOf(inputs, batchSize, context), tensorOf(targets, batchSize, context)}
}

func train(pipe *Pipe) {
	state := uint64(1)
	line := "go"
	for step := 0; step < steps; step++ {
		batch := draw(&state)
		line += fmt.Sprintf(" %.17g", pipe.Step(batch))
		batch.Drop()
	}
	fmt.Println(line)
}

func printParameter(pipe *Pipe, name string) {
	device, values := pipe.Read(name)
	fmt.Fprintf(os.Stderr, "%s on device %d: %.9g %.9g ...\n", name, device, values[0], values[1])
}

func evaluate(pipe *Pipe) float64 {
	state := uint64(2)
	batch := draw(&state)
	defer batch.Drop()
	return pipe.Evaluate(batch)
}

func reload(plan *Plan, trained *Pipe, folder string) {
	trained.Save(folder)
	pipe := plan.Build()
	defer pipe.Close()
	pipe.Load(folder)
	before, after := evaluate(trained), evaluate(pipe)
	fmt.Fprintf(os.Stderr, "saved %.17g, reloaded %.17g\n", before, after)
	if before != after {
		panic("the reloaded pipe differs")
	}
}

func generate(config, folder string) {
	runtime, err := Open(config, `model.weights={file="`+folder+`/checkpoint/model.safetensors"}`)
	check(err)
	defer runtime.Close()
	fmt.Fprint(os.Stderr, "the quick |")
	runtime.Generate(func(piece string) bool {
		fmt.Fprint(os.Stderr, piece)
		return true
	})
	fmt.Fprintln(os.Stderr, "|")
}

func printError(config string) {
	_, err := Open(config, "train.batsh=3")
	var mistake *Error
	if errors.As(err, &mistake) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", mistake.Name(), mistake.Text)
	}
}

func main() {
	config, folder := os.Args[1], os.Args[2]
	runtime, err := Open(config)
	check(err)
	defer runtime.Close()
	plan := runtime.Plan() // nothing is allocated yet
	defer plan.Free()
	fmt.Fprint(os.Stderr, plan.Text())
	pipe := plan.Build() // weights are placed, one thread for each device
	defer pipe.Close()
	train(pipe)
	printParameter(pipe, "h.1.mlp.up.weight")
	reload(plan, pipe, folder)
	generate(config, folder)
	printError(config)
}
