/** Taints, and the names of Kubernetes that they are made of (upstream: pkg/util/taints, apimachinery's validation). */
import { goQuote } from '../../../shared/log/go-quote.ts';
import type { Taint } from '../kubelet-configuration.ts';
import { invalid, type Rules } from './rules.ts';

const namePart = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const maxNameLength = 63;
const maxPrefixLength = 253;

export const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** What is wrong with a label's key (`prefix/name`), or undefined. */
export function checkQualifiedName(key: string): string | undefined {
  const parts = key.split('/');
  if (parts.length > 2) return 'a qualified name must consist of an optional DNS subdomain prefix, one slash, and a name';
  const [name = '', prefix] = parts.toReversed();
  if (prefix === '') return 'prefix part must be non-empty';
  if (prefix !== undefined && (prefix.length > maxPrefixLength || !subdomain.test(prefix))) {
    return `prefix part ${goQuote(prefix)} must be a lowercase RFC 1123 subdomain of at most ${maxPrefixLength} characters`;
  }
  if (name === '') return 'name part must be non-empty';
  if (name.length > maxNameLength) return `name part must be no more than ${maxNameLength} characters`;
  if (namePart.test(name)) return undefined;
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
}

/** What is wrong with a label's value, or undefined. */
export function checkLabelValue(value: string): string | undefined {
  if (value === '') return undefined;
  if (value.length > maxNameLength) return `must be no more than ${maxNameLength} characters`;
  if (namePart.test(value)) return undefined;
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
}

/** What is wrong with a taint, or undefined. */
export function checkTaint({ key, value, effect }: Taint): string | undefined {
  const keyFailure = checkQualifiedName(key);
  if (keyFailure !== undefined) return `invalid taint key: ${keyFailure}`;
  const valueFailure = checkLabelValue(value);
  if (valueFailure !== undefined) return `invalid taint value: ${valueFailure}`;
  if (effect === '' || (taintEffects as readonly string[]).includes(effect)) return undefined;
  return `invalid taint effect: ${effect}, unsupported taint effect`;
}

export const checkTaints: Rules = ({ config }) =>
  config.registerWithTaints.flatMap((taint, index) => {
    const where = `registerWithTaints[${index}] (--register-with-taints)`;
    const failure = checkTaint(taint);
    return [
      ...(failure === undefined ? [] : [invalid(`${where}: invalid taint: ${taint.key}=${taint.value}:${taint.effect}: ${failure}`)]),
      ...(taint.timeAdded === null ? [] : [invalid(`${where}: taint.TimeAdded is not nil`)]),
    ];
  });
