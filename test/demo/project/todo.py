#!/usr/bin/env python3
"""A to-do list in a text file: one line a task, done tasks begin with "x "."""

import sys

FILE = "todo.txt"


def read():
    try:
        with open(FILE) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def write(tasks):
    with open(FILE, "w") as f:
        for task in tasks:
            f.write(task + "\n")


def add(words):
    tasks = read()
    tasks.append(" ".join(words))
    write(tasks)


def done(number):
    tasks = read()
    tasks[number - 1] = "x " + tasks[number - 1]
    write(tasks)


def show():
    for number, task in enumerate(read(), 1):
        print(number, task)


def main(argv):
    if not argv:
        show()
    elif argv[0] == "add":
        add(argv[1:])
    elif argv[0] == "done":
        done(int(argv[1]))
    else:
        print("usage: todo.py [add WORDS | done NUMBER]")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
