/** A URL without its user and password, so that it may be logged or shown. One without them stays as it was written. Pure. */
export function stripURLCredentials(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || (parsed.username === '' && parsed.password === '')) return url;
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
