package org.jccl.ranktable.json;

/**
 * Something wrong with a document.
 *
 * @param path the value it is about
 * @param at where in the text
 * @param message what is wrong
 */
public record JsonFault(JsonPath path, Json.Position at, String message) {}
