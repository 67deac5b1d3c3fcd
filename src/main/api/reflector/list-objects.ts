/** A list of API objects, page by page. */
import { isExpired, type ApiCall, type ApiClient } from '../api-client.ts';

export interface ObjectList {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
}

interface ListResponse {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly unknown[] | null;
}

/** client-go's page. */
const pageSize = 500;
/** 100,000 objects: no node has so many of anything; a server that goes on for ever is not followed. */
const maxPages = 200;

/**
 * All objects at the most recent version. Pages that expire while they are read are given up for one answer that has everything. Rejects
 * with ApiError.
 */
export async function listObjects(
  client: ApiClient,
  call: Pick<ApiCall, 'path' | 'query' | 'trafficClass' | 'signal'>,
): Promise<ObjectList> {
  const get = (query: ApiCall['query']) =>
    client.call<ListResponse>({ ...call, method: 'GET', query: { ...call.query, ...query }, maxAttempts: 1 });
  const items: unknown[] = [];
  let next: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    let answer: ListResponse;
    try {
      answer = await get({ limit: pageSize, ...(next === undefined ? {} : { continue: next }) });
    } catch (err) {
      if (next === undefined || !isExpired(err)) throw err;
      const whole = await get({});
      return { items: itemsOf(whole), resourceVersion: versionOf(whole) };
    }
    // Not as arguments of one call: a server may give all objects of a cluster for a page.
    for (const item of itemsOf(answer)) items.push(item);
    next = answer.metadata?.continue;
    if (next === undefined || next === '') return { items, resourceVersion: versionOf(answer) };
  }
  throw new Error(`${call.path}: a list of more than ${maxPages} pages`);
}

/** An answer that is no list must not pass for an empty one: what a list lacks is ended. */
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
