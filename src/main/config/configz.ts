/** The body of `/configz`, and the configuration as it may be logged. */
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { apiVersion, kind, kubeletConfiguration } from './schema.ts';

/**
 * The configuration in the form on the wire, as upstream's `/configz` has it, but for one thing: the headers of staticPodURL are masked,
 * since they carry credentials and this body is also served without authentication.
 */
export function toConfigz(config: KubeletConfiguration): string {
  return JSON.stringify({ kubeletconfig: toWire(config) });
}

/** The form on the wire with nothing secret in it. */
export function toWire(config: KubeletConfiguration): Record<string, unknown> {
  const staticPodURLHeader = Object.fromEntries(Object.keys(config.staticPodURLHeader).map((name) => [name, ['<masked>']]));
  const fields = kubeletConfiguration.write({ ...config, staticPodURLHeader }) as Record<string, unknown>;
  return { kind, apiVersion, ...fields };
}
