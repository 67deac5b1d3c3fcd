/** Parses numbers and booleans of the command line like Go's strconv, with the same error messages. */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

const trueTexts = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const falseTexts = ['0', 'f', 'F', 'FALSE', 'false', 'False'];
/** Go accepts prefixes for the base, a leading 0 for octal, and `_` between digits. */
const integer = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([0-9]+))$/;

export function parseBool(text: string): boolean {
  if (trueTexts.includes(text)) return true;
  if (falseTexts.includes(text)) return false;
  throw failure('ParseBool', text, 'invalid syntax');
}

/** Parses a signed integer and throws if it exceeds `bits`. */
export function parseInteger(text: string, bits: 32 | 64): number {
  const match = integer.exec(text.replaceAll(/(?<=[0-9a-fA-FxXbBoO])_(?=[0-9a-fA-F])/g, ''));
  if (!match) throw failure('ParseInt', text, 'invalid syntax');
  const [, sign, hex, binary, octal, decimal] = match;
  const magnitude = BigInt(
    hex !== undefined ? `0x${hex}` : binary !== undefined ? `0b${binary}` : octal !== undefined ? `0o${octal}` : (decimal ?? '0'),
  );
  const value = sign === '-' ? -magnitude : magnitude;
  if (BigInt.asIntN(bits, value) !== value) throw failure('ParseInt', text, 'value out of range');
  return Number(value);
}

/** Parses a verbosity: decimal, at most 31 bits as in klog. */
export function parseUnsigned(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw failure('ParseUint', text, 'invalid syntax');
  const value = Number(text);
  if (value >= 2 ** 31) throw failure('ParseUint', text, 'value out of range');
  return value;
}

function failure(typeName: string, text: string, problem: string): Error {
  return new Error(`strconv.${typeName}: parsing ${goQuote(text)}: ${problem}`);
}
