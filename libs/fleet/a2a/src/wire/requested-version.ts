import type { FastifyRequest } from 'fastify';

/**
 * The value of `A2A-Version`: of the header, else of the query parameter of that name in any case (A2A 1.0, section 3.6.1).
 */
export function requestedVersion({ headers, query }: FastifyRequest): string | undefined {
  const header = headers['a2a-version'];
  if (typeof header === 'string' && header.trim() !== '') return header;
  const pairs = typeof query === 'object' && query !== null ? Object.entries(query) : [];
  const [, value] = pairs.find(([name]) => name.toLowerCase() === 'a2a-version') ?? [];
  return typeof value === 'string' ? value : undefined;
}
