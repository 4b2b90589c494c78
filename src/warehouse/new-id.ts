/** New ids: UUIDs of version 7, which ascend with time, so that rows are indexed in the order of their creation. */
import { randomBytes } from 'node:crypto'

/** Source: RFC 9562 §5.7. `at`: milliseconds since 1970. */
export function newId(at: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
