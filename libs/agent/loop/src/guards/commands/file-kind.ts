const CODE = new Set(
  (
    'ts tsx mts cts js jsx mjs cjs vue svelte astro py pyi ipynb go rs c h cc cpp cxx hpp hh m mm java kt kts scala ' +
    'groovy gradle cs fs vb swift rb rake erb php pl pm lua r jl ex exs erl hs ml mli clj cljs dart zig nim sh bash ' +
    'zsh fish ps1 bat awk sed proto thrift graphql tf hcl nix cmake mk asm s v sv vhd wat sol cu glsl ps1 bats feature'
  ).split(' '),
);
const CODE_NAMES = /^(?:(?:gnu)?makefile|jenkinsfile|rakefile|gemfile|justfile)$/i;

/** True for source code, which only running verifies; reading again is enough for all else (docs/agent.md#guards). */
export function isCode(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return CODE_NAMES.test(name) || (dot > 0 && CODE.has(name.slice(dot + 1).toLowerCase()));
}

/** A path's file name without extension. */
export const stemOf = (path: string): string =>
  path.slice(path.lastIndexOf('/') + 1).replace(/(?<=.)\.[^.]*$/, '');
