// SPDX-License-Identifier: Apache-2.0
// The calls of SQLite that the inspector makes, passed on to the library when there is one: it is opened by
// the first call, so that the command starts on machines that have none. There, opening a database fails.
#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CALLS(X)  \
  X(bind_int64)   \
  X(bind_text)    \
  X(close)        \
  X(column_int64) \
  X(column_text)  \
  X(db_config)    \
  X(deserialize)  \
  X(errmsg)       \
  X(exec)         \
  X(finalize)     \
  X(free)         \
  X(open)         \
  X(prepare_v2)   \
  X(reset)        \
  X(serialize)    \
  X(step)

#define MEMBER(name) __typeof__(&sqlite3_##name) name;
static struct { CALLS(MEMBER) } found;
static char missing[400];  // why there is none; empty if there is one
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void) {
  void* const library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(missing, sizeof missing, "%s (packages: libsqlite3-0, sqlite-libs)", dlerror());
    return;
  }
  void* call = NULL;
#define FIND(name)                                                                              \
  call = dlsym(library, "sqlite3_" #name);                                                      \
  if (call == NULL) snprintf(missing, sizeof missing, "libsqlite3.so.0 has no sqlite3_" #name); \
  memcpy(&found.name, &call, sizeof call);
  CALLS(FIND)
}

int sqlite3_open(const char* name, sqlite3** database) {
  pthread_once(&once, find);
  *database = NULL;
  return missing[0] == 0 ? found.open(name, database) : SQLITE_CANTOPEN;
}
const char* sqlite3_errmsg(sqlite3* database) { return missing[0] == 0 ? found.errmsg(database) : missing; }

// The others are for a database that was opened, or for none at all.
int sqlite3_close(sqlite3* database) { return database != NULL ? found.close(database) : SQLITE_OK; }
int sqlite3_finalize(sqlite3_stmt* statement) {
  return statement != NULL ? found.finalize(statement) : SQLITE_OK;
}
int sqlite3_bind_int64(sqlite3_stmt* statement, int column, sqlite3_int64 value) {
  return found.bind_int64(statement, column, value);
}
int sqlite3_bind_text(sqlite3_stmt* statement, int column, const char* text, int size,
                      void (*destroy)(void*)) {
  return found.bind_text(statement, column, text, size, destroy);
}
sqlite3_int64 sqlite3_column_int64(sqlite3_stmt* row, int column) { return found.column_int64(row, column); }
const unsigned char* sqlite3_column_text(sqlite3_stmt* row, int column) {
  return found.column_text(row, column);
}
// Of its settings only those with a value and a place for the former one are used.
int sqlite3_db_config(sqlite3* database, int setting, ...) {
  va_list more;
  va_start(more, setting);
  const int value = va_arg(more, int);
  int* const former = va_arg(more, int*);
  va_end(more);
  return found.db_config(database, setting, value, former);
}
int sqlite3_deserialize(sqlite3* database, const char* schema, unsigned char* data, sqlite3_int64 size,
                        sqlite3_int64 room, unsigned flags) {
  return found.deserialize(database, schema, data, size, room, flags);
}
int sqlite3_exec(sqlite3* database, const char* text, int (*row)(void*, int, char**, char**), void* argument,
                 char** problem) {
  return found.exec(database, text, row, argument, problem);
}
void sqlite3_free(void* memory) { found.free(memory); }
int sqlite3_prepare_v2(sqlite3* database, const char* text, int size, sqlite3_stmt** statement,
                       const char** rest) {
  return found.prepare_v2(database, text, size, statement, rest);
}
int sqlite3_reset(sqlite3_stmt* statement) { return found.reset(statement); }
unsigned char* sqlite3_serialize(sqlite3* database, const char* schema, sqlite3_int64* size, unsigned flags) {
  return found.serialize(database, schema, size, flags);
}
int sqlite3_step(sqlite3_stmt* statement) { return found.step(statement); }
