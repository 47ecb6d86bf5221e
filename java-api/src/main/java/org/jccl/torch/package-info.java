/**
 * What PyTorch's ranks and ours share beyond tensors: objects in the format of {@code
 * torch.distributed}'s object collectives. A world with PyTorch's ranks is made with {@link
 * org.jccl.Interop}.
 */
package org.jccl.torch;
