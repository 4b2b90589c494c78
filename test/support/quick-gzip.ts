/**
 * Preloaded into an npm that packs what is unpacked at once: it compresses as little as it can, in
 * a third of the time.
 */
import zlib, { type ZlibOptions } from 'node:zlib'

const { Gzip } = zlib as unknown as { Gzip: new (options: ZlibOptions) => object }
const quick = class extends Gzip {
  constructor(options: ZlibOptions) {
    super({ ...options, level: 1 })
  }
}
Object.assign(zlib, { Gzip: quick })
