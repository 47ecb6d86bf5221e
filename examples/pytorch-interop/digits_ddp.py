"""Data-parallel training on handwritten digits with DistributedDataParallel.

Any rank but the first may be a Java process instead, see TorchDdpTraining.java: start it with `jccl run` or
torchrun. With Python ranks only, this is an ordinary PyTorch program.

    digits_ddp.py [--epochs N] [--batch N] [--save FILE] [--compare FILE]
"""

import argparse
import csv
import gzip
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

DATA = pathlib.Path(__file__).parent / "../src/main/resources/org/jccl/examples/digits.csv.gz"
SEED = 7
LEARNING_RATE = 0.1
MOMENTUM = 0.9
# Java's tanh, exp and sums may round differently, and the differences of hundreds of steps pile up. Measured with 3
# and 30 epochs: weights of size 1 differ by 2e-7 and 8e-7. This is 20 times more.
TOLERANCE = 2e-5


def load():
    """Images and labels to train with, then those to test with: every fifth."""
    with gzip.open(DATA, "rt") as lines:
        rows = torch.tensor([[float(value) for value in row] for row in csv.reader(lines)])
    images, labels = rows[:, :64] / 16, rows[:, 64].long()
    test = torch.arange(len(rows)) % 5 == 0
    return images[~test], labels[~test], images[test], labels[test]


class Descent:
    """Gradient descent with momentum. torch.optim.SGD rounds once where the CPU multiplies and adds in one
    instruction; written out like this, all ranks round alike, whatever they run on."""

    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.velocities = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def step(self):
        for parameter, velocity in zip(self.parameters, self.velocities):
            velocity.mul_(MOMENTUM).add_(parameter.grad)
            parameter.sub_(velocity * LEARNING_RATE)


def epoch(model, descent, order, images, labels, batch):
    """Goes through the images once and returns the sum of this rank's losses."""
    rank, world = dist.get_rank(), dist.get_world_size()
    total = 0.0
    for step in order.split(batch):
        mine = step[len(step) * rank // world : len(step) * (rank + 1) // world]
        loss = torch.nn.functional.cross_entropy(model(images[mine]), labels[mine], reduction="sum")
        for parameter in model.parameters():
            parameter.grad = None
        # So that the average over ranks, which DDP computes, is the mean over the batch.
        (loss * (world / len(step))).backward()
        descent.step()
        total += loss.item()
    return total


def flat(model):
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def same_on_all_ranks(weights):
    """Whether the bits are those of rank 0; every rank calls it and gets the same answer."""
    first = weights.clone()
    dist.broadcast(first, 0)
    equal = torch.tensor([int(torch.equal(first.view(torch.int32), weights.view(torch.int32)))])
    dist.all_reduce(equal, dist.ReduceOp.MIN)
    return bool(equal.item())


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--epochs", type=int, default=10)
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--save", help="rank 0 writes the losses and final weights here")
    arguments.add_argument("--compare", help="rank 0 compares with what another run has saved")
    options = arguments.parse_args()

    torch.manual_seed(SEED)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    say = print if rank == 0 else lambda *_, **__: None
    images, labels, test_images, test_labels = load()
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
    )
    descent = Descent(model.parameters())

    losses = []
    for number in range(options.epochs):
        order = torch.randperm(len(images))
        dist.broadcast(order, 0)
        loss = torch.tensor([epoch(model, descent, order, images, labels, options.batch)], dtype=torch.float64)
        dist.all_reduce(loss)
        losses.append(loss.item() / len(images))
        if rank == 0:
            with torch.no_grad():
                right = (model.module(test_images).argmax(1) == test_labels).double().mean().item()
            say(f"epoch {number + 1:2d}  loss {losses[-1]:.4f}  test accuracy {100 * right:.1f} %", flush=True)

    passed = same_on_all_ranks(flat(model))
    say("weights are", "the same bits" if passed else "NOT THE SAME", f"on all {dist.get_world_size()} ranks")
    if rank == 0 and options.save:
        torch.save({"losses": losses, "weights": flat(model)}, options.save)
    if rank == 0 and options.compare:
        other = torch.load(options.compare)
        loss = max(abs(one - two) for one, two in zip(losses, other["losses"], strict=True))
        weights = (flat(model) - other["weights"]).abs().max().item()
        say(f"largest difference from {options.compare}: losses {loss:.1e}, weights {weights:.1e}")
        passed = passed and max(loss, weights) <= TOLERANCE
    say("PASSED" if passed else "FAILED")
    dist.destroy_process_group()
    sys.stdout.flush()
    # All is done: PyTorch's threads sometimes end the process with SIGABRT while the interpreter shuts down.
    os._exit(0 if passed else 1)


main()
