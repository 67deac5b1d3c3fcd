/**
 * A kubelet in the background, which outlives the command that started it. All of its files are in one folder, by which a later command finds it, ends it, and
 * removes what is left of its node.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeCgroupWithin } from '../host/cgroups.ts';
import { findRunningPid, startDaemon, stopDaemon, type Daemon } from '../host/daemon.ts';
import { removeLogLinks } from '../host/log-links.ts';
import { kubeletPath } from './kubelet-program.ts';
import { writeConfiguration } from './node-configuration.ts';
import { kubeletArguments, type KubeletFlags } from './start-kubelet.ts';

export interface DetachedKubeletStart extends Omit<KubeletFlags, 'config' | 'rootDir'> {
  /** A KubeletConfiguration. */
  readonly configuration: object;
  /** The command, which the file of the configuration names. */
  readonly writtenBy: string;
  /** Further flags. */
  readonly flags?: readonly string[];
}

/** Processes that end with their pods may not be reaped yet. */
const removeTimeoutMs = 60_000;

export class DetachedKubelet {
  readonly rootDir: string;
  readonly podLogs: string;
  readonly logFile: string;
  readonly #folder: string;
  readonly #config: string;
  readonly #daemon: Daemon;

  /** @param folder must be short: it has the kubelet's sockets, whose paths are limited to 108 bytes */
  constructor(folder: string) {
    this.rootDir = join(folder, 'kubelet');
    this.podLogs = join(folder, 'pod-logs');
    this.logFile = join(folder, 'kubelet.log');
    this.#folder = folder;
    this.#config = join(folder, 'kubelet.yaml');
    this.#daemon = { pidFile: join(folder, 'kubelet.pid'), commandLineMark: this.#config };
  }

  /** Needs a finished build. No other kubelet may run in the folder. */
  start({ configuration, writtenBy, flags = [], ...node }: DetachedKubeletStart): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o755 });
    writeConfiguration(this.#config, configuration, writtenBy);
    const args = [...kubeletArguments({ config: this.#config, rootDir: this.rootDir, ...node }), ...flags];
    startDaemon(this.#daemon, kubeletPath, args, this.logFile);
  }

  /** Throws with the end of the log when it has ended. */
  assertRunning(): void {
    if (findRunningPid(this.#daemon) !== undefined) return;
    const log = readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
    throw new Error(`the kubelet has ended; the end of ${this.logFile}:\n${log}`);
  }

  /** Does nothing when it does not run. Its pods keep running. */
  stop(): Promise<void> {
    return stopDaemon(this.#daemon);
  }

  /** Removes what the stopped kubelet has left outside of its folder. Its pods must have ended: throws when a process is still in its cgroups. */
  async removeTraces(cgroupRoot: string): Promise<void> {
    if (!(await removeCgroupWithin(cgroupRoot, removeTimeoutMs))) throw new Error(`the cgroup ${cgroupRoot} still has processes`);
    removeLogLinks(this.podLogs);
  }
}
