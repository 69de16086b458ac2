/**
 * The packages that the page is made with, in one place. The addresses hold their versions; index.html pins their content.
 */
import htm from '/vendor/htm@3.1.1/dist/htm.mjs';
import { h } from '/vendor/preact@11.2.0/dist/preact.mjs';

export { createContext, Fragment, h, render } from '/vendor/preact@11.2.0/dist/preact.mjs';
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from '/vendor/preact@11.2.0/hooks/dist/hooks.mjs';
export { default as uPlot } from '/vendor/uplot@1.6.32/dist/uPlot.esm.js';

/**
 * A template as elements. What is put into it is always text or an element, never markup: nothing in this page turns a
 * string into HTML.
 */
export const html = /** @type {(strings: TemplateStringsArray, ...values: unknown[]) => any} */ (htm.bind(h));
