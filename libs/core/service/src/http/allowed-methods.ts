/** The methods that the routes allow for a path, for 405 and its `Allow` header. */
export function createAllowedMethods() {
  const routes: { readonly pattern: readonly string[]; readonly methods: readonly string[] }[] = [];
  return {
    add(pattern: string, method: string | readonly string[]): void {
      routes.push({ pattern: pattern.split('/'), methods: typeof method === 'string' ? [method] : method });
    },
    of(path: string): string[] {
      const parts = path.split('/');
      const matching = routes.filter(({ pattern }) => matches(pattern, parts));
      return [...new Set(matching.flatMap(({ methods }) => methods))].sort();
    },
  };
}

function matches(pattern: readonly string[], parts: readonly string[]): boolean {
  const last = pattern.at(-1) === '*' ? pattern.length - 1 : undefined;
  if (last === undefined ? parts.length !== pattern.length : parts.length < pattern.length) return false;
  return pattern.every(
    (part, at) => at === last || (part.startsWith(':') ? parts[at] !== '' : part === parts[at]),
  );
}
