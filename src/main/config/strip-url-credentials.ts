/** Removes user and password from a URL, so that it may be logged or served. Returns a URL without them unchanged. Pure. */
export function stripURLCredentials(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || (parsed.username === '' && parsed.password === '')) return url;
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
