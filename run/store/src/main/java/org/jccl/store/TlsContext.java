package org.jccl.store;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;

/** Creates the TLS engines of connections: TLS 1.3, with certificates on both sides. */
final class TlsContext {

    /** Protects nothing: the key store is never written. */
    private static final char[] PASSWORD = "memory".toCharArray();

    private final SSLContext context;

    TlsContext(TlsCredentials credentials) {
        try {
            context = SSLContext.getInstance("TLSv1.3");
            KeyManagerFactory keys =
                    KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own(credentials), PASSWORD);
            TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
            trust.init(authorities(credentials.authorities()));
            TrustManager[] managers = {
                new Dated((X509ExtendedTrustManager) trust.getTrustManagers()[0])
            };
            context.init(keys.getKeyManagers(), managers, null);
        } catch (GeneralSecurityException | IOException e) {
            throw new StoreException(
                    "This Java runtime cannot use TLS 1.3 with " + credentials + ": " + e, e);
        }
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static KeyStore own(TlsCredentials credentials)
            throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        X509Certificate[] chain = credentials.certificates().toArray(X509Certificate[]::new);
        store.setKeyEntry("own", credentials.key(), PASSWORD, chain);
        return store;
    }

    private static KeyStore authorities(List<X509Certificate> certificates)
            throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        for (int i = 0; i < certificates.size(); i++) {
            store.setCertificateEntry("authority-" + i, certificates.get(i));
        }
        return store;
    }

    SSLEngine engine(boolean client) {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(client);
        engine.setNeedClientAuth(!client);
        engine.setEnabledProtocols(new String[] {"TLSv1.3"});
        return engine;
    }

    /**
     * Also checks the dates of a certificate that is its own authority. The JDK accepts such a
     * certificate without checking the dates.
     */
    private static final class Dated extends X509ExtendedTrustManager {

        private final X509ExtendedTrustManager next;

        Dated(X509ExtendedTrustManager next) {
            this.next = next;
        }

        private static X509Certificate[] dated(X509Certificate[] chain)
                throws CertificateException {
            try {
                chain[0].checkValidity();
                return chain;
            } catch (CertificateException e) {
                throw new CertificateException(
                        "the certificate of %s is valid from %s to %s"
                                .formatted(
                                        chain[0].getSubjectX500Principal(),
                                        chain[0].getNotBefore().toInstant(),
                                        chain[0].getNotAfter().toInstant()),
                        e);
            }
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            next.checkClientTrusted(dated(chain), type, engine);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            next.checkServerTrusted(dated(chain), type, engine);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            next.checkClientTrusted(dated(chain), type, socket);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            next.checkServerTrusted(dated(chain), type, socket);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type)
                throws CertificateException {
            next.checkClientTrusted(dated(chain), type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type)
                throws CertificateException {
            next.checkServerTrusted(dated(chain), type);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return next.getAcceptedIssuers();
        }
    }
}
