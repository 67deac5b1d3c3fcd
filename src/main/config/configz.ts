/** The body of `/configz`, and the configuration as it may be logged. */
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { stripURLCredentials } from './strip-url-credentials.ts';
import { apiVersion, kind, kubeletConfiguration } from './schema.ts';

/**
 * The configuration in the form on the wire, as upstream's `/configz` has it, but without the credentials of staticPodURL and
 * staticPodURLHeader: who may read a node's configuration need not be able to log in elsewhere.
 */
export function toConfigz(config: KubeletConfiguration): string {
  return JSON.stringify({ kubeletconfig: toWire(config) });
}

/** The form on the wire with nothing secret in it. */
export function toWire(config: KubeletConfiguration): Record<string, unknown> {
  const staticPodURLHeader = Object.fromEntries(Object.keys(config.staticPodURLHeader).map((name) => [name, ['<masked>']]));
  const fields = kubeletConfiguration.write({
    ...config,
    staticPodURL: stripURLCredentials(config.staticPodURL),
    staticPodURLHeader,
  }) as Record<string, unknown>;
  return { kind, apiVersion, ...fields };
}
