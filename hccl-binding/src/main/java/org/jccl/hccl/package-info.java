/** HCCL on Ascend devices, through the CANN of the host. */
package org.jccl.hccl;
