import { isUtf8 } from 'node:buffer';
import { FleetError } from '@hermes-fleet/protocol';

/**
 * The text that a JSON body is, byte for byte. Throws PARSE_ERROR for what is not UTF-8: with its bytes replaced, two
 * bodies that differ would say the same (RFC 8259, 8.1).
 */
export function bodyText(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8');
  throw new FleetError('PARSE_ERROR', 'the body is not JSON: it is not UTF-8');
}
