/** Compares the running configuration with the one of the files. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { fieldEffects } from './live-fields.ts';

export interface ReloadPlan {
  /** The running configuration with the new values of the live fields. */
  readonly config: KubeletConfiguration;
  /** The live fields that change, by path, in the order of the table. */
  readonly applied: readonly string[];
  /** The fields whose value in the files is not the running one, and stays so until a restart. */
  readonly needsRestart: readonly string[];
}

export function computeReload(running: KubeletConfiguration, wanted: KubeletConfiguration): ReloadPlan {
  const applied: string[] = [];
  const needsRestart: string[] = [];
  const live: Record<string, unknown> = {};
  const compare = (path: string, isLive: boolean, from: unknown, to: unknown): boolean => {
    if (isDeepStrictEqual(from, to)) return false;
    (isLive ? applied : needsRestart).push(path);
    return isLive;
  };
  for (const [field, effect] of Object.entries(fieldEffects) as [
    keyof KubeletConfiguration,
    (typeof fieldEffects)[keyof KubeletConfiguration],
  ][]) {
    const [from, to] = [running[field], wanted[field]];
    if (typeof effect === 'string') {
      if (compare(field, effect === 'live', from, to)) live[field] = to;
      continue;
    }
    const struct: Record<string, unknown> = { ...(from as object) };
    for (const [name, value] of Object.entries(to as object)) {
      if (compare(`${field}.${name}`, effect.includes(name), struct[name], value)) struct[name] = value;
    }
    live[field] = struct;
  }
  return { config: { ...running, ...live }, applied, needsRestart };
}
