/** How V8 compiles the WebAssembly of the embedded store. */
import { setFlagsFromString } from 'node:v8'

/**
 * By default V8 compiles what runs often once more, with optimizations. For the large functions of Postgres that takes
 * 700 MB, of which 100 MB are not returned to the system, and seconds of CPU in the first minutes. Without it a
 * statement takes a fifth more CPU.
 */
export const baselineFlags = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

/** Has effect on modules that are compiled later. */
export function compileBaselineOnly(): void {
  for (const flag of baselineFlags) setFlagsFromString(flag)
}
