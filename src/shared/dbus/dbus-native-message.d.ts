/** The part of dbus-native's message format that its own types leave out. */
declare module 'dbus-native/lib/message.js' {
  import type { Message } from 'dbus-native';

  export function marshall(message: Message): Buffer;
  /** Decodes the bytes of one message. Throws when they are malformed. */
  export function unmarshall(bytes: Buffer): Message;
}
