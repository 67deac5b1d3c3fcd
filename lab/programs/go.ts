/** Fetches Go when the host's is missing or too old: node lab/programs/go.ts */
import { join } from 'node:path';
import { ensureGo } from './go-toolchain.ts';

const { command } = await ensureGo(join(import.meta.dirname, '../../test/cluster'), (what) => console.log(`==> ${what}`));
console.log(`Go is ${command}`);
