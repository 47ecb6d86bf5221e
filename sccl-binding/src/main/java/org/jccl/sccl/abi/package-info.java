/** Structures of the vendor, which JNA reads by reflection. */
package org.jccl.sccl.abi;
