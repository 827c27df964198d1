"""What the top page shows is what the program does; every example has its page."""
import os
import re
import textwrap

from example import Example, SOURCE, main

PAGE = os.path.join(SOURCE, "README.md")


class Readme(Example):
    def setUp(self):
        super().setUp()
        with open(PAGE) as file:
            self.page = file.read()

    def section(self, title):
        return self.page.split(f"\n## {title}\n")[1].split("\n## ")[0]

    def blocks(self, title):
        """The indented blocks of a section."""
        return [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", self.section(title), re.M)]

    def test_links_lead_somewhere(self):
        for link in re.findall(r"\]\(([^)]+)\)", self.page):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, link)), link)

    def test_every_example_has_a_page_and_is_found_from_the_top(self):
        folder = os.path.join(SOURCE, "examples")
        for name in os.listdir(folder):
            if os.path.isdir(os.path.join(folder, name)):
                self.assertTrue(os.path.exists(os.path.join(folder, name, "README.md")), name)
                self.assertIn(f"examples/{name}", self.page)

    def test_the_plan_is_the_one_that_is_printed(self):
        shown = self.blocks("What it looks like")[0].split("\n\n")[0].splitlines()
        words = shown[0].split()
        self.assertEqual(words[1:3], ["build/switchyard", "plan"])
        self.assertEqual(self.switchyard("plan", os.path.join(SOURCE, words[3])).stdout.splitlines(), shown[1:])

    def test_the_file_is_a_configuration(self):
        config = os.path.join(self.folder, "model.toml")
        with open(config, "w") as file:
            file.write(self.blocks("The file")[0])
        self.assertEqual([d["name"] for d in self.plan(config)["devices"]], ["cpu:0", "cpu:1"])
        for sets in re.findall(r"model\.toml( --set .*)", self.section("Another policy, another schedule")):
            values = [value.strip("' ") for value in sets.split("--set ")[1:]]
            self.assertEqual(self.plan(config, *values)["format"], 1)


main()
