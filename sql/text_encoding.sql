-- strings by batches in databases whose encoding is not UTF8: bytes of one character within two others, one byte for each, none at all
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\set encoding_test :abs_srcdir '/sql/include/encoding.sql'
-- in EUC_JP the second byte of \3042 and the first of \3044 are those of \25B3; \FF71 has two bytes, \4E02 three
\set encoding EUC_JP
\set database regress_vector_euc_jp
\set chars 'ARRAY[\'\', \'a\', \'Z\', U&\'\\3042\', U&\'\\3044\', U&\'\\25B3\', U&\'\\FF71\', U&\'\\4E02\']'
\i :encoding_test
\set encoding LATIN1
\set database regress_vector_latin1
\set chars 'ARRAY[\'\', \'a\', \'Z\', U&\'\\00E9\', U&\'\\00C9\', U&\'\\00FF\', U&\'\\00DF\', U&\'\\00A4\']'
\i :encoding_test
\set encoding SQL_ASCII
\set database regress_vector_ascii
\set chars 'ARRAY[\'\', \'a\', \'Z\', E\'\\xff\', E\'\\xe3\\x81\', E\'\\x81\\xe3\', E\'\\x01\']'
\i :encoding_test
