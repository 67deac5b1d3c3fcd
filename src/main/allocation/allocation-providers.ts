/** The table of providers of exclusive resources, in the order in which a pod gets these resources. */
import { openPodFile } from './pod-file.ts';
import type { AllocationProvider, AllocationProviderContext, OpenAllocationProvider } from './provider.ts';
import { openUserNamespaceProvider } from './user-namespaces/index.ts';

const allocationProviders: readonly OpenAllocationProvider[] = [
  openUserNamespaceProvider, //
];

/** Rejects with the error of the first provider that cannot work on this node. */
export async function openAllocationProviders(start: Omit<AllocationProviderContext, 'podFile'>): Promise<AllocationProvider[]> {
  const context = { ...start, podFile: (name: string) => openPodFile(start.options.flags.rootDirectory, name) };
  const providers: AllocationProvider[] = [];
  for (const openProvider of allocationProviders) providers.push(await openProvider(context));
  return providers;
}
