/**
 * Follows a release of Kubernetes: docs/following-upstream.md.
 *
 *   npm run upstream                             generates what is taken from the version in src/shared/kubernetes/version.ts
 */
import { updateFromUpstream } from './update.ts';

await updateFromUpstream();
