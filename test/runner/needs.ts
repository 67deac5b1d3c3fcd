/**
 * Determines what a test file needs from what it imports, directly or not: a file that can start a control plane imports the module that builds
 * it. A lane has no network, so a missing row here fails at once on a host without caches.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Need, Part } from './jobs.ts';

const needsOfModules: Readonly<Record<string, readonly Need[]>> = {
  'lab/kubelet/build.ts': ['bundle'],
  'lab/containerd/installations/containerd-2.3.ts': ['containerd-2.3'],
  'lab/containerd/installations/installations.ts': ['containerd-1.7', 'containerd-2.1'],
  'lab/guest/install.ts': ['guest-kernel', 'guest-root'],
  'lab/programs/control-plane.ts': ['control-plane'],
  'lab/programs/go-kubelet.ts': ['go-kubelet'],
  'lab/programs/kubeadm.ts': ['kubeadm'],
  'lab/oci-runtimes/installation.ts': ['runtimes'],
  'scripts/upstream/compare/inventory.ts': ['go'],
  'lab/programs/metrics-server.ts': ['metrics-server'],
};

/** @param file relative to the project */
export function needsOf(file: string, part: Part, project: string): Need[] {
  const needs = new Set<Need>();
  for (const module of importsOf(file, project)) {
    for (const need of needsOfModules[module] ?? []) needs.add(need);
  }
  // Integration tests use the simulated runtime, and no real part of what their support files import.
  if (part === 'integration') for (const need of needs) if (need !== 'bundle' && need !== 'go') needs.delete(need);
  return [...needs].toSorted();
}

/** It loads nothing. */
const typeImport = /^(?:import|export) type [^;]*;/gm;

const imported = new Map<string, readonly string[]>();

/** Returns the file and all modules of the project that it imports, directly or not. */
function importsOf(file: string, project: string): Set<string> {
  const all = new Set([file]);
  for (const each of all) {
    let found = imported.get(each);
    if (found === undefined) imported.set(each, (found = directImports(each, project)));
    for (const module of found) all.add(module);
  }
  return all;
}

function directImports(file: string, project: string): string[] {
  let text = '';
  try {
    text = readFileSync(join(project, file), 'utf8');
  } catch (err) {
    // A name in a text that looks like an import.
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
  return [...text.replaceAll(typeImport, '').matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+\.[jt]s)'/g)].map(([, path = '']) =>
    join(file, '..', path),
  );
}
