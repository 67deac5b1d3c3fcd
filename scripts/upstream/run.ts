/**
 * Follows a release of Kubernetes: docs/following-upstream.md.
 *
 *   npm run upstream                                 generates what is taken from the version in src/shared/kubernetes/version.ts
 *   npm run -s upstream -- compare v1.36.3 v1.37.2   lists what differs between two versions, as Markdown
 */
import { messageOf } from '../../src/shared/errors/kubelet-error.ts';
import { computeDifferences } from './compare/compute-differences.ts';
import { differenceText } from './compare/difference-text.ts';
import { fetchInventory } from './compare/inventory.ts';
import { updateFromUpstream } from './update.ts';

const usage = 'usage: npm run upstream [-- compare v1.36.3 v1.37.2]';
const isVersion = (text = ''): boolean => /^v1\.\d+\.\d+(?:-[a-z]+\.\d+)?$/.test(text);

async function compare(before: string, after: string): Promise<void> {
  const progress = (what: string) => console.error(`==> ${what}`);
  const [old, now] = [await fetchInventory(before, progress), await fetchInventory(after, progress)];
  console.log(differenceText(before, after, computeDifferences(old, now)));
}

const [command, before = '', after = '', ...rest] = process.argv.slice(2);
try {
  if (command === undefined) await updateFromUpstream();
  else if (command === 'compare' && isVersion(before) && isVersion(after) && rest.length === 0) await compare(before, after);
  else throw new Error(usage);
} catch (err) {
  console.error(messageOf(err));
  process.exitCode = 1;
}
