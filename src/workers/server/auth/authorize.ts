/**
 * Authorizes a request by SubjectAccessReviews of the API server, one subresource after the other until one is allowed. Results are
 * cached. Upstream: InstallAuthFilter of pkg/kubelet/server/server.go, apiserver plugin/pkg/authorizer/webhook.
 */
import { SingleFlight } from '../../../shared/concurrency/single-flight.ts';
import type { MainApi, SubjectAccessReviewSpec, SubjectAccessReviewStatus } from '../../../shared/contracts/server/calls.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { computeRequiredAccess } from './required-access.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { User } from './user.ts';

export type Decision =
  | { readonly type: 'allowed' }
  /** The message is for the client, `cause` for the log. */
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
/** Clients choose the path. Results for longer paths are not cached (upstream: maxControlledAttrCacheSize). */
const maxPathLength = 10_000;

/** Never rejects. */
export function createAccessReviewAuthorizer(options: AccessReviewsOptions): Authorize {
  const review = createCachedReview(options);
  return async (user, method, path) => {
    const { verb, subresources } = computeRequiredAccess(method, path);
    const subject = `user=${user.name}, verb=${verb}, resource=nodes`;
    for (const subresource of subresources) {
      const spec = reviewSpec(user, verb, subresource, options.nodeName);
      try {
        const status = await review(spec, { isCached: path.length < maxPathLength });
        if (status.allowed === true && status.denied === true)
          throw new Error('webhook subject access review returned both allow and deny response');
        if (status.allowed === true) return { type: 'allowed' };
      } catch (err) {
        return {
          type: 'refused',
          status: 500,
          message: `Authorization error (${subject}, subresource=${subresource})`,
          cause: messageOf(err),
        };
      }
    }
    return { type: 'refused', status: 403, message: `Forbidden (${subject}, subresource(s)=[${subresources.join(' ')}])\n` };
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

/** Concurrent equal reviews share one request. */
function createCachedReview({ reviewAccess, authorizedTTLMs, unauthorizedTTLMs, clock }: AccessReviewsOptions) {
  const cache = new ExpiringCache<SubjectAccessReviewStatus>(clock, cacheCapacity);
  const reviews = new SingleFlight<string, SubjectAccessReviewStatus>();
  return (spec: SubjectAccessReviewSpec, { isCached }: { readonly isCached: boolean }): Promise<SubjectAccessReviewStatus> => {
    const key = JSON.stringify(spec);
    const cached = cache.get(key);
    if (cached) return Promise.resolve(cached);
    return reviews.run(key, async () => {
      const status = await reviewAccess(spec);
      if (isCached) cache.set(key, status, status.allowed === true ? authorizedTTLMs : unauthorizedTTLMs);
      return status;
    });
  };
}
