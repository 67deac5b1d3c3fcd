/** The handler of plugins of the type CSIPlugin: which CSI drivers this node has (upstream RegistrationHandler in pkg/volume/csi/csi_plugin.go). */
import type { PluginInfo } from '../../shared/contracts/plugins.ts';
import type { DriverReply } from '../../shared/contracts/volumes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { CsiNodeWriter } from './csi-node/csi-node-writer.ts';
import { highestSupportedVersion, isLower, type DriverVersion } from './driver-versions.ts';

export interface CsiRegistrationOptions {
  readonly thread: {
    setDriver(name: string, endpoint: string): Promise<DriverReply>;
    removeDriver(name: string): Promise<void>;
  };
  /** Undefined when standalone. */
  readonly csiNode: Pick<CsiNodeWriter, 'install' | 'uninstall'> | undefined;
  /** Called when a driver can be used. */
  readonly onRegistered: () => void;
  /** Called when the driver is in the CSINode. */
  readonly onInstalled?: (name: string) => void;
  /** Called when the driver has left. */
  readonly onUninstalled?: (name: string) => void;
  readonly logger: Logger;
}

interface RegisteredDriver {
  readonly endpoint: string;
  readonly version: DriverVersion;
}

export class CsiRegistration {
  readonly #options: CsiRegistrationOptions;
  readonly #drivers = new Map<string, RegisteredDriver>();

  constructor(options: CsiRegistrationOptions) {
    this.#options = options;
  }

  validate({ name, endpoint, supportedVersions }: PluginInfo): string | null {
    const problem = this.#problem(name, supportedVersions);
    return problem === null ? null : `validation failed for CSI Driver ${name} at endpoint ${endpoint}: kubernetes.io/csi: ${problem}`;
  }

  /** The driver can be used once it has answered, also while the API server is away: pods that end need it. */
  async register({ name, endpoint, supportedVersions }: PluginInfo): Promise<void> {
    const { thread, csiNode, onRegistered, onInstalled } = this.#options;
    const version = highestSupportedVersion(supportedVersions);
    if (!version) throw new Error(`none of the versions of CSI driver ${name} is supported`);
    const reply = await thread.setDriver(name, endpoint);
    if (reply.outcome === 'failed') throw new Error(reply.message);
    onRegistered();
    await csiNode?.install(name, reply.info);
    this.#drivers.set(name, { endpoint, version });
    onInstalled?.(name);
  }

  async deregister({ name, endpoint }: PluginInfo): Promise<void> {
    if (this.#drivers.get(name)?.endpoint !== endpoint) return;
    const { thread, csiNode, logger } = this.#options;
    this.#drivers.delete(name);
    this.#options.onUninstalled?.(name);
    await thread.removeDriver(name);
    await csiNode
      ?.uninstall(name)
      .catch((err: unknown) => logger.warn({ driver: name, err: messageOf(err) }, 'Could not remove a CSI driver from the CSINode'));
  }

  #problem(name: string, versions: readonly string[]): string | null {
    const failed = `ValidatePlugin for CSI driver ${JSON.stringify(name)} failed.`;
    if (versions.length === 0) return `${failed} Plugin returned an empty list for supported versions`;
    if (!/^[a-zA-Z0-9]([-a-zA-Z0-9.]{0,61}[a-zA-Z0-9])?$/.test(name)) return `${failed} The name is not that of a CSI driver`;
    const version = highestSupportedVersion(versions);
    if (!version) return `${failed} None of the versions specified ${JSON.stringify(versions)} are supported`;
    const existing = this.#drivers.get(name);
    if (!existing || isLower(existing.version, version)) return null;
    return `${failed} Another driver with the same name is already registered with a higher supported version: ${JSON.stringify(existing.version.text)}`;
  }
}
