/** What the commands that read files of ranks share. */
package org.jccl.cli.files;
