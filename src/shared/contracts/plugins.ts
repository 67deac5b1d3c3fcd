/**
 * The plugins thread makes the calls of the kubelet's plugin registration (upstream pkg/kubelet/pluginmanager). Main watches the folder of sockets and decides what
 * a plugin's answer means; the thread keeps nothing. It starts with the first socket.
 */
import type { ThreadWorkerData } from './thread-worker-data.ts';

export type PluginsWorkerData = ThreadWorkerData;

/** What a plugin says of itself. */
export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin` */
  readonly type: string;
  readonly name: string;
  /** The path of the socket of its service. Empty: the socket of its registration. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export type PluginInfoReply =
  | { readonly outcome: 'info'; readonly info: PluginInfo }
  | { readonly outcome: 'failed'; readonly message: string };

export interface RegistrationStatus {
  readonly registered: boolean;
  /** Empty: none. */
  readonly error: string;
}

export interface PluginsApi {
  getInfo(socketPath: string): Promise<PluginInfoReply>;
  /** Resolves with why the plugin could not be notified, or null. */
  notifyRegistrationStatus(socketPath: string, status: RegistrationStatus): Promise<string | null>;
  close(): Promise<void>;
}
