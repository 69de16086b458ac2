export type Reading = 'page' | 'text' | 'other';

const TEXT =
  /^(text\/|application\/(.+\+)?(json|xml|yaml|toml)$|application\/(x-ndjson|javascript|ecmascript|x-yaml|x-sh|sql|graphql)$)/;

/** Decides by the media type; undefined when it is empty. */
export function readingOf(type: string): Reading | undefined {
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'page';
  if (TEXT.test(type)) return 'text';
  return type === '' ? undefined : 'other';
}

/** Decides by the first bytes. */
export function guessReading(beginning: Uint8Array): Reading {
  if (beginning.includes(0)) return 'other';
  return /^\s*<(!doctype html|html|head|body)\b/i.test(new TextDecoder().decode(beginning.slice(0, 1024)))
    ? 'page'
    : 'text';
}

/** The media type of a `content-type` header, without parameters. */
export function typeOf(header: string | null): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase().slice(0, 100) ?? '';
}

const CHARSET = /charset\s*=\s*["']?([\w:.-]{1,40})/i;

/** Decodes bytes in the encoding that the header names, else the page itself, else in UTF-8. */
export function textOf(bytes: Uint8Array, header: string | null): string {
  const start = new TextDecoder('latin1').decode(bytes.slice(0, 1024));
  const charset =
    CHARSET.exec(header ?? '')?.[1] ?? (/<meta[^>]{0,200}charset/i.test(start) && CHARSET.exec(start)?.[1]);
  return decode(bytes, charset || 'utf-8');
}

function decode(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
