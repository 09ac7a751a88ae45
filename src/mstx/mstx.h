// mstx/: the library behind the mstx calls, libms_tools_ext.so.
//
// A program calls, tools listen, and the broker stands between: it gives the program one handle for each
// domain, heap, region and range, keeps what each tool calls the same thing, and can therefore let tools in
// and out at any time.
//
//   handles.h   slot_map.h   what a handle is; records that outlive it for a while
//   registry    what lives: domains, heaps, regions. Data alone, no tools and no locks
//   dialects    clients that leave fields unset, by the name of their domain
//   gate        read sections and the gate that attaching closes
//   ranges      open ranges, without a lock
//   tool_slots  tool   one tool: its functions, and its name for each of our handles
//   discover    where tools come from: environment, preloading
//   broker      attach and detach
//   board       where another process asks for a recorder
//   sections    how a call goes out to the tools; refs: what a batch refers to, in the words of each tool
//   calls_*     the calls, fanned out; replay: telling a newcomer what was there before it
//   api_*       the exported calls
//
// May include: base/ and the public headers. Never calls a tool with the registry locked, never dereferences
// a handle or pointer that a client does not have to fill in, never unloads (the library is linked nodelete:
// images keep addresses of its functions).
//
// Locks, in this order: Broker::control_ (attach and detach, one at a time), Broker::registry_lock_ (the
// registry and the handle tables of the tools; held for a few lines).
#pragma once
