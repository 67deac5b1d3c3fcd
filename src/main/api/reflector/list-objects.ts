/** Lists API objects page by page. */
import { isExpired, isTooLarge, type ApiCall, type ApiClient } from '../api-client.ts';

export interface ObjectList {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
}

interface ListResponse {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly unknown[] | null;
}

/** client-go's default page size. */
const pageSize = 500;
/** 100,000 objects are more than a node has of any kind. The limit ends a list of a server that returns pages without end. */
const maxObjects = 200 * pageSize;
/** A page whose objects are too large for one response is read again with a fraction of its objects. */
const pageDivisor = 4;

/**
 * Lists all objects at the most recent version. If the continue token expires between pages, lists again without pages. Rejects with
 * ApiError.
 */
export async function listObjects(
  client: ApiClient,
  call: Pick<ApiCall, 'path' | 'query' | 'trafficClass' | 'signal'>,
): Promise<ObjectList> {
  const get = (query: ApiCall['query']) =>
    client.call<ListResponse>({ ...call, method: 'GET', query: { ...call.query, ...query }, maxAttempts: 1 });
  const items: unknown[] = [];
  let next: string | undefined;
  let limit = pageSize;
  for (let requested = 0; requested < maxObjects; requested += limit) {
    let response: ListResponse;
    try {
      response = await get({ limit, ...(next === undefined ? {} : { continue: next }) });
    } catch (err) {
      if (isTooLarge(err) && limit > 1) {
        limit = Math.ceil(limit / pageDivisor);
        continue;
      }
      if (next === undefined || !isExpired(err)) throw err;
      const unpaged = await get({});
      return { items: itemsOf(unpaged), resourceVersion: versionOf(unpaged) };
    }
    // No spread into one call: a server may return all objects of a cluster as one page, and the number of arguments is limited.
    for (const item of itemsOf(response)) items.push(item);
    next = response.metadata?.continue;
    if (next === undefined || next === '') return { items, resourceVersion: versionOf(response) };
  }
  throw new Error(`${call.path}: a list of more than ${maxObjects} objects`);
}

/** A response that is not a list must not count as an empty list, because pods missing from a list are terminated. */
function itemsOf({ items }: ListResponse): readonly unknown[] {
  if (Array.isArray(items)) return items;
  if (items === null || items === undefined) return [];
  throw new Error('the answer is not a list: its items are no array');
}

function versionOf({ metadata }: ListResponse): string {
  const { resourceVersion } = metadata ?? {};
  if (typeof resourceVersion === 'string' && resourceVersion !== '') return resourceVersion;
  throw new Error('the answer is not a list: it has no resource version');
}
