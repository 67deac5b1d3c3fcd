/** Starts a kubelet as a child of this process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { kubeletPath } from './kubelet-program.ts';

export interface KubeletFlags {
  /** The file of the KubeletConfiguration. */
  readonly config: string;
  readonly rootDir: string;
  readonly nodeName: string;
  /** Absent: standalone. */
  readonly kubeconfig?: string | undefined;
}

/** Returns the flags that each kubelet on a shared host has. */
export function kubeletArguments({ config, rootDir, nodeName, kubeconfig }: KubeletFlags): string[] {
  const cluster = kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig];
  return ['--config', config, '--root-dir', rootDir, '--hostname-override', nodeName, ...cluster];
}

export interface KubeletStart {
  /** Default: the kubelet of this project. */
  readonly executable?: string | undefined;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Its output is appended. */
  readonly logFile: string;
}

export function startKubelet({ executable = kubeletPath, args, env, logFile }: KubeletStart): ChildProcess {
  const log = openSync(logFile, 'a');
  try {
    return spawn(executable, args, { stdio: ['ignore', log, log], env });
  } finally {
    closeSync(log);
  }
}
