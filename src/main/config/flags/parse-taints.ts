/** Parses --register-with-taints (upstream: pkg/util/taints). */
import { labelKeyErrors, labelValueErrors } from '../../../shared/kubernetes/names.ts';
import type { Taint } from '../kubelet-configuration.ts';
import { taintEffects } from '../validation/register-with-taints.ts';

/**
 * Parses comma-separated taints of the form `key=value:effect` or `key:effect`. A repeated flag replaces the earlier one. As upstream, drops
 * taints that end in `-`.
 */
export function parseTaints(text: string): Taint[] {
  const taints: Taint[] = [];
  for (const spec of text === '' ? [] : text.split(',')) {
    const taint = parseTaint(spec.replace(/-$/, ''));
    if (spec.endsWith('-')) continue;
    if (taint.effect === '') throw new Error(`invalid taint spec: ${spec}`);
    if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) {
      throw new Error(`duplicated taints with the same key and effect: ${spec}`);
    }
    taints.push(taint);
  }
  return taints;
}

function parseTaint(spec: string): Taint {
  const [pair = '', effect = '', ...more] = spec.split(':');
  const [key = '', value = '', ...rest] = pair.split('=');
  if (more.length > 0 || rest.length > 0) throw new Error(`invalid taint spec: ${spec}`);
  if (spec.includes(':') && !(taintEffects as readonly string[]).includes(effect)) {
    throw new Error(`invalid taint effect: ${effect}, unsupported taint effect`);
  }
  const errors = [...labelValueErrors(value), ...labelKeyErrors(key)];
  if (errors.length > 0) throw new Error(`invalid taint spec: ${spec}, ${errors.join('; ')}`);
  return { key, value, effect, timeAdded: null };
}
