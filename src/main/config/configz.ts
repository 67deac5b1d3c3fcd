/** Serializes the configuration for `/configz` and for the log, without credentials. */
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { stripURLCredentials } from './strip-url-credentials.ts';
import { apiVersion, kind, kubeletConfiguration } from './schema.ts';

/**
 * Returns the body of `/configz`, in upstream's format but without the credentials of staticPodURL and staticPodURLHeader. A user who may
 * read a node's configuration does not need access to other servers.
 */
export function toConfigz(config: KubeletConfiguration): string {
  return JSON.stringify({ kubeletconfig: toWire(config) });
}

/** Returns the configuration as JSON fields, without credentials. */
export function toWire(config: KubeletConfiguration): Record<string, unknown> {
  const staticPodURLHeader = Object.fromEntries(Object.keys(config.staticPodURLHeader).map((name) => [name, ['<masked>']]));
  const fields = kubeletConfiguration.write({
    ...config,
    staticPodURL: stripURLCredentials(config.staticPodURL),
    staticPodURLHeader,
  }) as Record<string, unknown>;
  return { kind, apiVersion, ...fields };
}
