/** Serializes the configuration for `/configz` and for the log, without credentials. */
import type { ReloadStatus } from './reload-status.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { stripURLCredentials } from './strip-url-credentials.ts';
import { apiVersion, kind, kubeletConfiguration } from './schema.ts';

/**
 * Returns the body of `/configz`, in upstream's format but without the credentials of staticPodURL and staticPodURLHeader. A user who may
 * read a node's configuration does not need access to other servers. After a reload there is a second key, which upstream's clients ignore.
 */
export function toConfigz(config: KubeletConfiguration, reload: ReloadStatus | null = null): string {
  return JSON.stringify({ kubeletconfig: toWire(config), ...(reload && { kubeletconfigreload: reload }) });
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
