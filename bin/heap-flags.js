// Keeps the heap small. V8 sizes it by the machine's memory, not by what a program needs: by default a long sync would
// hold hundreds of megabytes of garbage. Only growth is slowed; the memory in use has no new limit.
'use strict'

var v8 = require('v8')

module.exports = function keepHeapSmall() {
  // The young generation keeps its initial size.
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  // The old generation is collected when it is an eighth larger than what was in use.
  v8.setFlagsFromString('--heap-growing-percent=12')
}
