import { type FieldError, isJsonObject } from '@hermes-fleet/protocol';
import type { Service } from './service.ts';

/** An answer that is a refusal. Its texts are cut to 500 characters, and its fields to the first 50. */
export interface Refusal {
  readonly service: Service;
  readonly path: string;
  readonly status: number;
  /** The code of the error, as of the catalogue of errors; of JSON-RPC, the reason. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly fields: readonly FieldError[];
  /** Where a redirect leads. */
  readonly location: string | null;
}

export const MAX_TEXT = 500;
export const MAX_FIELDS = 50;

/** Reads the `error` of an answer. */
export function refusalOf(service: Service, path: string, response: Response, error: unknown): Refusal {
  const { code, message, fields, data } = isJsonObject(error) ? error : {};
  const details = (Array.isArray(data) ? data : []).filter(isJsonObject);
  const word = typeof code === 'string' ? code : details[0]?.reason;
  const violations = details.flatMap((each) => each.fieldViolations ?? []);
  return {
    service,
    path,
    status: response.status,
    code: typeof word === 'string' ? word : undefined,
    message: typeof message === 'string' ? message.slice(0, MAX_TEXT) : undefined,
    fields: [...(Array.isArray(fields) ? fields : []), ...violations]
      .filter(isJsonObject)
      .slice(0, MAX_FIELDS)
      .map((each) => ({
        path: textOf(each.path ?? each.field),
        reason: textOf(each.reason ?? each.description),
      })),
    location: response.headers.get('location'),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : '');
