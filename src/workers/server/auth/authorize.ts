/**
 * Whether a user may do it: asked of the API server for each subresource in turn until one is allowed, and the answers kept for a while.
 * Upstream: InstallAuthFilter of pkg/kubelet/server/server.go, apiserver plugin/pkg/authorizer/webhook.
 */
import { SingleFlight } from '../../../shared/concurrency/single-flight.ts';
import type { MainApi, SubjectAccessReviewSpec, SubjectAccessReviewStatus } from '../../../shared/contracts/server/calls.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { computeRequiredAccess } from './attributes.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { User } from './user.ts';

export type Decision =
  | { readonly type: 'allowed' }
  /** 403 or 500, with the client's words; `cause` is for the log. */
  | { readonly type: 'refused'; readonly status: 403 | 500; readonly message: string; readonly cause?: string };

export type Authorize = (user: User, method: string, path: string) => Promise<Decision>;

export const alwaysAllow: Authorize = async () => ({ type: 'allowed' });

export interface AccessReviewsOptions {
  readonly reviewAccess: MainApi['reviewAccess'];
  readonly nodeName: string;
  readonly authorizedTTLMs: number;
  readonly unauthorizedTTLMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const cacheCapacity = 8192;
/** A client chooses its path; what is longer is not kept (upstream: maxControlledAttrCacheSize). */
const maxPathLength = 10_000;

/** Never rejects. */
export function createAccessReviewAuthorizer(options: AccessReviewsOptions): Authorize {
  const ask = cachedReviews(options);
  return async (user, method, path) => {
    const { verb, subresources } = computeRequiredAccess(method, path);
    const who = `user=${user.name}, verb=${verb}, resource=nodes`;
    for (const subresource of subresources) {
      const spec = reviewSpec(user, verb, subresource, options.nodeName);
      try {
        const status = await ask(spec, path.length < maxPathLength);
        if (status.allowed === true && status.denied === true)
          throw new Error('webhook subject access review returned both allow and deny response');
        if (status.allowed === true) return { type: 'allowed' };
      } catch (err) {
        return { type: 'refused', status: 500, message: `Authorization error (${who}, subresource=${subresource})`, cause: messageOf(err) };
      }
    }
    return { type: 'refused', status: 403, message: `Forbidden (${who}, subresource(s)=[${subresources.join(' ')}])\n` };
  };
}

function reviewSpec({ name, uid, groups, extra }: User, verb: string, subresource: string, nodeName: string): SubjectAccessReviewSpec {
  return {
    user: name,
    ...(uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(Object.keys(extra).length > 0 && { extra }),
    resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
  };
}

/** Those who ask the same at the same time are one question. */
function cachedReviews({ reviewAccess, authorizedTTLMs, unauthorizedTTLMs, clock }: AccessReviewsOptions) {
  const cache = new ExpiringCache<SubjectAccessReviewStatus>(clock, cacheCapacity);
  const reviews = new SingleFlight<string, SubjectAccessReviewStatus>();
  return (spec: SubjectAccessReviewSpec, keep: boolean): Promise<SubjectAccessReviewStatus> => {
    const key = JSON.stringify(spec);
    const known = cache.get(key);
    if (known) return Promise.resolve(known);
    return reviews.run(key, async () => {
      const status = await reviewAccess(spec);
      if (keep) cache.set(key, status, status.allowed === true ? authorizedTTLMs : unauthorizedTTLMs);
      return status;
    });
  };
}
