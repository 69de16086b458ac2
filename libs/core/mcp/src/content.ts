import type { CallToolResult } from '@modelcontextprotocol/client';

/** The limit of one tool call's content in the model's context. */
export const MAX_CONTENT_BYTES = 64 * 1024;
const HEAD_BYTES = 48 * 1024;

/** Joins the parts of a tool result into a text of at most 64 kB; other content is replaced by its type and size. */
export function contentText(result: CallToolResult): string {
  const parts = result.content.map(partText);
  if (parts.length === 0 && result.structuredContent) parts.push(JSON.stringify(result.structuredContent));
  return boundText(parts.join('\n'));
}

function partText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type}: ${part.mimeType}, ${base64Bytes(part.data)} bytes]`;
    case 'resource_link':
      return `[resource link: ${part.name}, ${part.uri}]`;
    case 'resource':
      return 'text' in part.resource
        ? part.resource.text
        : `[resource: ${part.resource.uri}, ${base64Bytes(part.resource.blob)} bytes]`;
  }
}

/** Truncates a text to its head and tail, around a line with the number of omitted bytes. */
export function boundText(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_CONTENT_BYTES) return text;
  const tailBytes = MAX_CONTENT_BYTES - HEAD_BYTES - 100;
  const head = bytes
    .subarray(0, HEAD_BYTES)
    .toString()
    .replace(/�{1,3}$/, '');
  const tail = bytes
    .subarray(-tailBytes)
    .toString()
    .replace(/^�{1,3}/, '');
  return `${head}\n[${bytes.length - HEAD_BYTES - tailBytes} bytes left out]\n${tail}`;
}

const base64Bytes = (data: string): number => Buffer.byteLength(data, 'base64');

const MAX_LINE = 200;

/** Shortens untrusted text to one line of at most 200 characters. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').slice(0, MAX_LINE);
