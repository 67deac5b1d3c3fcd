/** containerd 2.3, which is built. A test that starts a node with it imports this, so that the imports of a test file tell that it needs the build. */
import type { Containerd23 } from './installations.ts';

export const containerd23 = '2.3' as Containerd23;
