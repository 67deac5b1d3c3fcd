/** Reads the generated table of protobuf messages. Each message is parsed when a pod needs it for the first time. */
import { podMessages } from './generated/pod-messages.ts';

/** `!`: always written, `?`: written if it is set, `*`: for each element, `%`: for each entry of a map. */
export type Presence = '!' | '?' | '*' | '%';

export interface MessageField {
  readonly number: number;
  readonly presence: Presence;
  /** `s` text, `b` bool, `i` integer, `Q` Quantity, `T` Time, `I` IntOrString, `F` FieldsV1, or the name of a message. */
  readonly type: string;
  /** The name in JSON. Empty: the fields of the message are those of its parent in JSON. */
  readonly name: string;
}

const messages = new Map<string, readonly MessageField[]>();

/** Returns the fields in the order of their numbers. */
export function messageFields(name: string): readonly MessageField[] {
  const known = messages.get(name);
  if (known) return known;
  const fields = (podMessages[name] ?? '').split(',').filter(Boolean).map(readField);
  messages.set(name, fields);
  return fields;
}

function readField(text: string): MessageField {
  const [, number = '', presence = '', type = '', name = ''] = /^(\d+)([!?*%])(\w+) (\w*)$/.exec(text) ?? [];
  return { number: Number(number), presence: presence as Presence, type, name };
}
