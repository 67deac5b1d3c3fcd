/**
 * Bounds the messages of errors, events, conditions and waiting reasons. A tenant chooses what they quote: image names, commands, output of containers. Each message
 * is copied between threads, kept, logged and sent, and its escapes in JSON are up to six times as long.
 */

/** In UTF-16 units. Upstream's limit for the output of probes (10 KiB); its other messages have none. */
export const maxMessageLength = 10 * 1024;

/** Returns at most `maxLength` units. The end states how long the whole text is. */
export function cutMessage(text: string, maxLength = maxMessageLength): string {
  if (text.length <= maxLength) return text;
  const end = `… (${text.length} characters)`;
  return `${text.slice(0, maxLength - end.length).toWellFormed()}${end}`;
}
