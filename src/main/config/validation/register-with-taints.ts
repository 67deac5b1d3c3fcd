/** Rules for registerWithTaints (upstream: pkg/util/taints). */
import { labelKeyErrors, labelValueErrors } from '../../../shared/kubernetes/names.ts';
import type { Taint } from '../kubelet-configuration.ts';
import { invalidConfiguration, type ValidationRule } from './rules.ts';

export const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** Returns the first problem of a taint, or undefined. */
function checkTaint({ key, value, effect }: Taint): string | undefined {
  const keyErrors = labelKeyErrors(key);
  if (keyErrors.length > 0) return `invalid taint key: ${keyErrors.join('; ')}`;
  const valueErrors = labelValueErrors(value);
  if (valueErrors.length > 0) return `invalid taint value: ${valueErrors.join('; ')}`;
  if (effect === '' || (taintEffects as readonly string[]).includes(effect)) return undefined;
  return `invalid taint effect: ${effect}, unsupported taint effect`;
}

export const checkRegisterWithTaints: ValidationRule = ({ config }) =>
  config.registerWithTaints.flatMap((taint, index) => {
    const field = `registerWithTaints[${index}] (--register-with-taints)`;
    const failure = checkTaint(taint);
    return [
      ...(failure === undefined
        ? []
        : [invalidConfiguration(`${field}: invalid taint: ${taint.key}=${taint.value}:${taint.effect}: ${failure}`)]),
      ...(taint.timeAdded === null ? [] : [invalidConfiguration(`${field}: taint.TimeAdded is not nil`)]),
    ];
  });
